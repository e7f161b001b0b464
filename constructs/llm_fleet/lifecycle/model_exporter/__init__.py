"""What the containers of an export run: fetch a checkpoint, export it in the server's image, publish the result."""
