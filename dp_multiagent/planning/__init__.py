"""What a team should do: synthesis and evaluation of policies."""
