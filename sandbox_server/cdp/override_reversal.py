"""How each lasting effect on a page is taken off and put back, by the method that set it.

`methods.txt` marks those methods with `lasts`. `test_undone.py` checks that none is missing here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sandbox_server.cdp.messages import Object

AGAIN = "$again"
"""Stands for the command as the client sent it."""
SCRIPTS = {
    "Page.addScriptToEvaluateOnNewDocument": "Page.removeScriptToEvaluateOnNewDocument",
    "Page.addScriptToEvaluateOnLoad": "Page.removeScriptToEvaluateOnLoad",
}
"""Methods whose effect is removed by the identifier that Chromium returned."""

type Step = tuple[str, Object]


class Reversal(NamedTuple):
    """How one effect is taken off, and how it is put back."""

    off: tuple[Step, ...]
    back: tuple[Step, ...] = ((AGAIN, {}),)
    key: tuple[str, ...] = ()
    """The parameters that tell two effects of one method apart."""
    carried: tuple[str, ...] = ()
    """The parameters that the reversing command repeats."""


def _off(method: str, key: tuple[str, ...] = (), carried: tuple[str, ...] | None = None, **params: Any) -> Reversal:
    return Reversal(((method, params),), key=key, carried=key if carried is None else carried)


_PAUSES = Reversal((("Debugger.setSkipAllPauses", {"skip": True}),), (("Debugger.setSkipAllPauses", {"skip": False}),))
_STOPS = Reversal((("Debugger.setBreakpointsActive", {"active": False}),), (("Debugger.setBreakpointsActive", {"active": True}),))
_DRAWN = Reversal((("Overlay.disable", {}),), (("Overlay.enable", {}),))
_OVERLAYS = (
    "highlightFrame highlightNode highlightQuad highlightRect highlightSourceOrder setInspectMode setShowAdHighlights "
    "setPausedInDebuggerMessage setShowDebugBorders setShowFPSCounter setShowGridOverlays setShowFlexOverlays setShowScrollSnapOverlays "
    "setShowContainerQueryOverlays setShowInspectedElementAnchor setShowPaintRects setShowLayoutShiftRegions setShowScrollBottleneckRects "
    "setShowHitTestBorders setShowWebVitals setShowViewportSizeOnResize setShowHinge setShowDisplayCutout setShowIsolatedElements "
    "setShowWindowControlsOverlay"
)
_CONTEXT = ("browserContextId",)
_NO_LIMITS: dict[str, Any] = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}

UNDONE: Mapping[str, Reversal] = {
    "Autofill.setAddresses": _off("Autofill.setAddresses", addresses=[]),
    "BackgroundService.setRecording": _off("BackgroundService.setRecording", ("service",), shouldRecord=False),
    "BluetoothEmulation.enable": _off("BluetoothEmulation.disable"),
    "Browser.grantPermissions": _off("Browser.resetPermissions", ("browserContextId", "origin", "permissions"), _CONTEXT),
    "Browser.setDownloadBehavior": _off("Browser.setDownloadBehavior", ("browserContextId",), behavior="default"),
    "Browser.setPermission": _off("Browser.resetPermissions", ("browserContextId", "origin", "permission"), _CONTEXT),
    "CSS.setLocalFontsEnabled": _off("CSS.setLocalFontsEnabled", enabled=True),
    "DOM.highlightNode": Reversal((("DOM.hideHighlight", {}),), ()),
    "DOM.highlightRect": Reversal((("DOM.hideHighlight", {}),), ()),
    "DOMDebugger.setBreakOnCSPViolation": _PAUSES,
    "DOMDebugger.setDOMBreakpoint": _PAUSES,
    "DOMDebugger.setEventListenerBreakpoint": _PAUSES,
    "DOMDebugger.setInstrumentationBreakpoint": _PAUSES,
    "DOMDebugger.setXHRBreakpoint": _PAUSES,
    "Debugger.enable": Reversal((("Debugger.resume", {}), *_PAUSES.off), ((AGAIN, {}), *_PAUSES.back)),
    "Debugger.pause": Reversal((("Debugger.resume", {}), *_PAUSES.off), _PAUSES.back),
    "Debugger.setBlackboxPatterns": _off("Debugger.setBlackboxPatterns", patterns=[]),
    "Debugger.setBreakpoint": _STOPS,
    "Debugger.setBreakpointByUrl": _STOPS,
    "Debugger.setBreakpointOnFunctionCall": _STOPS,
    "Debugger.setInstrumentationBreakpoint": _STOPS,
    "Debugger.setPauseOnExceptions": _PAUSES,
    "DeviceAccess.enable": _off("DeviceAccess.disable"),
    "DeviceOrientation.setDeviceOrientationOverride": _off("DeviceOrientation.clearDeviceOrientationOverride"),
    "DigitalCredentials.setVirtualWalletBehavior": _off("DigitalCredentials.setVirtualWalletBehavior", ("frameId",), action="clear"),
    "Emulation.setAutoDarkModeOverride": _off("Emulation.setAutoDarkModeOverride"),
    "Emulation.setAutomationOverride": _off("Emulation.setAutomationOverride", enabled=False),
    "Emulation.setCPUPerformanceOverride": _off("Emulation.setCPUPerformanceOverride"),
    "Emulation.setCPUThrottlingRate": _off("Emulation.setCPUThrottlingRate", rate=1),
    "Emulation.setDataSaverOverride": _off("Emulation.setDataSaverOverride"),
    "Emulation.setDefaultBackgroundColorOverride": _off("Emulation.setDefaultBackgroundColorOverride"),
    "Emulation.setDeviceMetricsOverride": _off("Emulation.clearDeviceMetricsOverride"),
    "Emulation.setDevicePostureOverride": _off("Emulation.clearDevicePostureOverride"),
    "Emulation.setDisabledImageTypes": _off("Emulation.setDisabledImageTypes", imageTypes=[]),
    "Emulation.setDisplayFeaturesOverride": _off("Emulation.clearDisplayFeaturesOverride"),
    "Emulation.setDocumentCookieDisabled": _off("Emulation.setDocumentCookieDisabled", disabled=False),
    "Emulation.setEmitTouchEventsForMouse": _off("Emulation.setEmitTouchEventsForMouse", enabled=False),
    "Emulation.setEmulatedMedia": _off("Emulation.setEmulatedMedia", media="", features=[]),
    "Emulation.setEmulatedOSTextScale": _off("Emulation.setEmulatedOSTextScale"),
    "Emulation.setEmulatedVisionDeficiency": _off("Emulation.setEmulatedVisionDeficiency", type="none"),
    "Emulation.setGeolocationOverride": _off("Emulation.clearGeolocationOverride"),
    "Emulation.setIdleOverride": _off("Emulation.clearIdleOverride"),
    "Emulation.setLocaleOverride": _off("Emulation.setLocaleOverride"),
    "Emulation.setNavigatorOverrides": _off("Emulation.setNavigatorOverrides", platform=""),
    "Emulation.setPageScaleFactor": Reversal((("Emulation.resetPageScaleFactor", {}),)),
    "Emulation.setPressureSourceOverrideEnabled": _off("Emulation.setPressureSourceOverrideEnabled", ("source",), enabled=False),
    "Emulation.setSafeAreaInsetsOverride": _off("Emulation.setSafeAreaInsetsOverride", insets={}),
    "Emulation.setScriptExecutionDisabled": _off("Emulation.setScriptExecutionDisabled", value=False),
    "Emulation.setScrollbarsHidden": _off("Emulation.setScrollbarsHidden", hidden=False),
    "Emulation.setSensorOverrideEnabled": _off("Emulation.setSensorOverrideEnabled", ("type",), enabled=False),
    "Emulation.setSmallViewportHeightDifferenceOverride": _off("Emulation.setSmallViewportHeightDifferenceOverride", difference=0),
    "Emulation.setTimezoneOverride": _off("Emulation.setTimezoneOverride", timezoneId=""),
    "Emulation.setTouchEmulationEnabled": _off("Emulation.setTouchEmulationEnabled", enabled=False),
    "Emulation.setUserAgentOverride": _off("Emulation.setUserAgentOverride", userAgent=""),
    "Emulation.setVirtualKeyboardGeometryOverride": _off("Emulation.setVirtualKeyboardGeometryOverride"),
    "EventBreakpoints.setInstrumentationBreakpoint": _PAUSES,
    "FedCm.enable": _off("FedCm.disable"),
    "Fetch.enable": _off("Fetch.disable"),
    "Input.setIgnoreInputEvents": _off("Input.setIgnoreInputEvents", ignore=False),
    "Input.setInterceptDrags": _off("Input.setInterceptDrags", enabled=False),
    "Network.configureDurableMessages": _off("Network.configureDurableMessages"),
    "Network.emulateNetworkConditions": _off("Network.emulateNetworkConditions", **_NO_LIMITS),
    "Network.emulateNetworkConditionsByRule": _off("Network.emulateNetworkConditionsByRule", offline=False, matchedNetworkConditions=[]),
    "Network.overrideNetworkState": _off("Network.overrideNetworkState", **_NO_LIMITS),
    "Network.setBlockedURLs": _off("Network.setBlockedURLs", urls=[]),
    "Network.setBypassServiceWorker": _off("Network.setBypassServiceWorker", bypass=False),
    "Network.setCacheDisabled": _off("Network.setCacheDisabled", cacheDisabled=False),
    "Network.setCookieControls": _off("Network.setCookieControls", enableThirdPartyCookieRestriction=False),
    "Network.setExtraHTTPHeaders": _off("Network.setExtraHTTPHeaders", headers={}),
    "Network.setUserAgentOverride": _off("Network.setUserAgentOverride", userAgent=""),
    **dict.fromkeys((f"Overlay.{name}" for name in _OVERLAYS.split()), _DRAWN),
    "Page.addCompilationCache": Reversal((("Page.clearCompilationCache", {}),), ()),
    "Page.produceCompilationCache": Reversal((("Page.clearCompilationCache", {}),), ()),
    "Page.addScriptToEvaluateOnLoad": Reversal(()),
    "Page.addScriptToEvaluateOnNewDocument": Reversal(()),
    "Page.setAdBlockingEnabled": _off("Page.setAdBlockingEnabled", enabled=False),
    "Page.setBypassCSP": _off("Page.setBypassCSP", enabled=False),
    "Page.setDeviceMetricsOverride": _off("Page.clearDeviceMetricsOverride"),
    "Page.setDeviceOrientationOverride": _off("Page.clearDeviceOrientationOverride"),
    "Page.setDownloadBehavior": _off("Page.setDownloadBehavior", behavior="default"),
    "Page.setGeolocationOverride": _off("Page.clearGeolocationOverride"),
    "Page.setInterceptFileChooserDialog": _off("Page.setInterceptFileChooserDialog", enabled=False),
    "Page.setPrerenderingAllowed": _off("Page.setPrerenderingAllowed", isAllowed=True),
    "Page.setRPHRegistrationMode": _off("Page.setRPHRegistrationMode", mode="none"),
    "Page.setSPCTransactionMode": _off("Page.setSPCTransactionMode", mode="none"),
    "Page.setTouchEmulationEnabled": _off("Page.setTouchEmulationEnabled", enabled=False),
    "Page.setWebLifecycleState": _off("Page.setWebLifecycleState", state="active"),
    "Page.startScreenRecording": Reversal((("Page.stopScreenRecording", {}),), ()),
    "Page.waitForDebugger": Reversal((("Runtime.runIfWaitingForDebugger", {}),), ()),
    "Runtime.addBinding": _off("Runtime.removeBinding", ("name", "executionContextId", "executionContextName"), ("name",)),
    "Runtime.setCustomObjectFormatterEnabled": _off("Runtime.setCustomObjectFormatterEnabled", enabled=False),
    "Security.setIgnoreCertificateErrors": _off("Security.setIgnoreCertificateErrors", ignore=False),
    "Security.setOverrideCertificateErrors": _off("Security.setOverrideCertificateErrors", override=False),
    "ServiceWorker.setForceUpdateOnPageLoad": _off("ServiceWorker.setForceUpdateOnPageLoad", forceUpdateOnPageLoad=False),
    "SmartCardEmulation.enable": _off("SmartCardEmulation.disable"),
    "WebAuthn.enable": _off("WebAuthn.disable"),
}
"""The reversals by method."""
