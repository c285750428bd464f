"""Pick-up: a policy must grasp and raise the named object; what fails is where and which.

`scene` says what is set up, `worlds` runs it (MuJoCo here; ManiSkill and SimplerEnv where they
are installed), `episode` puts a policy in it and judges, `pictures` draws what the policy sees.
"""
