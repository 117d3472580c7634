"""The command `quadfeat`: the only room that prints."""
