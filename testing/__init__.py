"""Contract suites for plug-ins, and doubles to test with.

Subclass `agent_suite.AgentContractSuite`, `model_suite.ModelContractSuite` or
`domain_suite.DomainContractSuite` in your own tests. `toy` is a whole domain with a model in
milliseconds, `simulated` evaluates agents without an environment, `made_runs` writes run folders.
"""
