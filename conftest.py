"""Files of the library that need a package which is not installed are not searched for examples."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/quadfeat/export/torch_module.py"]
