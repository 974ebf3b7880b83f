"""What protects a team: units and losses, mechanisms, budgets."""
