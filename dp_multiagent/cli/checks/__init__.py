"""What `dp_multiagent doctor` looks at, one module per organ.

Nothing but the standard library is imported before a check runs: what is missing is a finding.
"""
