"""Teams of robots that plan and act together under differential privacy."""

from pkgutil import extend_path

# A source tree has no generated interfaces: let it find those that colcon built and installed.
__path__ = extend_path(__path__, __name__)

__version__ = '0.1.0'
