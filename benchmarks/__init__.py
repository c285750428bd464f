"""Measurements behind published figures, one command a table.

`search_overhead` times what searchers themselves take a trial, `frame_time` what a picture takes;
`valid_scenes` counts valid scenes by set size; `search_study` compares the searchers on a
domain of concept sets, `policy_study` those of scene vectors on policies that pick things up.
"""
