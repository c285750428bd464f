"""Systems under test: built-in models, how answers are read, what asking costs.

Start at `registry.make_model`, which turns a name, ``module_or_file:Name`` or an object into a
model. `answers` reads an option out of a reply, `spending` keeps what was paid within its caps,
`doubles` are scripted models for tests.
"""
