"""The plan as a PAC file, for a browser elsewhere that wants to go where the sandbox's goes."""

import json

from sandbox_server.drivers.proxy.routing_plan import OWN, ProxyPlan, is_network

_NOTHING = """\
function FindProxyForURL(url, host) {
  return "DIRECT";
}
"""
_TEMPLATE = """\
function FindProxyForURL(url, host) {
  host = host.toLowerCase().replace(/[.]$/, "");
  const fits = (first, ...rest) => {
    const last = rest.pop();
    if (last === undefined) return host === first;
    let place = host.startsWith(first) && host.endsWith(last) ? first.length : Infinity;
    for (const part of rest) {
      const found = host.indexOf(part, place);
      place = found < 0 ? Infinity : found + part.length;
    }
    return place + last.length <= host.length;
  };
  const is = (patterns) => patterns.some((pattern) => fits(...pattern.split("*")));
  const within = (networks) => /^[0-9.]+$/.test(host) && networks.some(([network, mask]) => isInNet(host, network, mask));
  if (is(%(mapped)s)) return %(proxy)s;
  if (is(%(direct)s) || within(%(direct_networks)s)) return "DIRECT";
  if (%(everything)s || is(%(wanted)s) || within(%(wanted_networks)s)) return %(proxy)s;
  return "DIRECT";
}
"""


def pac(plan: ProxyPlan, address: str) -> str:
    """The file's text; `address` is the proxy's."""
    if not plan.upstream and not plan.routes:
        return _NOTHING
    direct = (*OWN, *plan.excludes)
    values = {
        "mapped": _names([route.host for route in plan.routes]),
        "direct": _names(direct),
        "direct_networks": _networks(direct),
        "everything": plan.upstream is not None and not plan.includes,
        "wanted": _names(plan.includes if plan.upstream else ()),
        "wanted_networks": _networks(plan.includes if plan.upstream else ()),
        "proxy": f"PROXY {address}",
    }
    return _TEMPLATE % {name: json.dumps(value) for name, value in values.items()}


def _names(patterns: "tuple[str, ...] | list[str]") -> list[str]:
    found = []
    for each in patterns:
        if not is_network(each):
            found += [each[1:], f"*{each}"] if each.startswith(".") else [each]
    return found


def _networks(patterns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Network and mask of those of version 4, all that PAC's isInNet knows."""
    import ipaddress

    found = [ipaddress.ip_network(each) for each in patterns if is_network(each)]
    return [(str(each.network_address), str(each.netmask)) for each in found if each.version == 4]
