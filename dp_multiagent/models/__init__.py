"""What a team is: MDPs, Markov games, maps, plans and the files that describe them."""
