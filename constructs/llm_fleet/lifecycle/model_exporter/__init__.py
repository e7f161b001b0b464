"""An export's containers: download a checkpoint, export it in the server's image, publish the result."""
