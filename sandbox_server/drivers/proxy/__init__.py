"""The forward proxy: HAProxy, which decides where each request goes, and tinyproxy, which it has connect to where no upstream is wanted."""
