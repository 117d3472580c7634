"""`python -m quadfeat`: the command, if its script is not on the path."""

from .app.main import main

if __name__ == "__main__":
    main()
