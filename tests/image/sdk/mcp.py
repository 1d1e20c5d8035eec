from tests.image.sdk.calls import Calls, drives


@drives("mcp.list_mcp_servers", "mcp.list_mcp_tools", "mcp.execute_mcp_tool")
async def servers_and_tools(calls: Calls) -> None:
    servers = (await calls("mcp.list_mcp_servers")).data
    tools = {tool.name: tool for tool in (await calls("mcp.list_mcp_tools", server_name="sandbox")).data.tools}
    devtools = (await calls("mcp.list_mcp_tools", server_name="chrome_devtools")).data.tools
    done = (await calls("mcp.execute_mcp_tool", server_name="sandbox", tool_name="execute_bash", request={"cmd": "echo $((6 * 7))"})).data
    failed = (await calls("mcp.execute_mcp_tool", server_name="sandbox", tool_name="sandbox_execute_bash", request={"nothing": 1})).data

    assert {"sandbox", "browser", "markitdown", "chrome_devtools"} <= set(servers)
    assert tools["sandbox_execute_bash"].input_schema["required"] == ["cmd"]
    assert "take_snapshot" in [tool.name for tool in devtools]
    assert (done.is_error, done.structured_content["output"]) == (False, "42\n")
    assert failed.is_error
    assert (await calls.fails("mcp.list_mcp_tools", server_name="nobody")).status_code == 404
    assert (await calls.fails("mcp.execute_mcp_tool", server_name="sandbox", tool_name="nothing", request={})).status_code == 404
