"""What a run leaves behind for people: a page with a picture, the same as JSON, and a few lines on the terminal."""
