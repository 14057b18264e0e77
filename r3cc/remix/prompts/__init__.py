"""What proposers read and how their answers are read; the texts are the templates beside this file."""
