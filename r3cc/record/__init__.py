"""Running an application under the recorder."""
