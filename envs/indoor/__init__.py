"""Indoor hazards: is it dangerous? (Revelio, section 4, Table 5, appendix B.2).

`catalogue`, `rules` and `questions` are data beside their readers: the concepts, which sets are
valid, the library of hazard rules and the question of each hazard family. `matching` finds the
rule of a set, which gives its question and the right answer.
"""
