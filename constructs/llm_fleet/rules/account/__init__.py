"""What only an account can tell, judged: values in, problems out. Nothing here asks AWS."""
