from drivelab.notebook import compare as compare
from drivelab.notebook import open as open  # noqa: A004

__version__: str
