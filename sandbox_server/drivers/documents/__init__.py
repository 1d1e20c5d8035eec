"""Text of documents and web pages: PDF, Excel, PowerPoint and HTML, converted by programs that run as the agent."""
