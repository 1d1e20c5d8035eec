"""DevTools methods by effect: those that only look, or keep a client's books. Whatever is not listed acts, those of newer browsers too."""

from typing import Any

from sandbox_server.cdp.wire import Command

_LOOKING = {
    "Accessibility": "disable enable getAXNodeAndAncestors getChildAXNodes getFullAXTree getPartialAXTree getRootAXNode queryAXTree",
    "Animation": "disable enable getCurrentTime getPlaybackRate resolveAnimation",
    "Audits": "disable enable getEncodedResponse",
    "Autofill": "disable enable",
    "Browser": "getBrowserCommandLine getHistogram getHistograms getVersion getWindowBounds getWindowForTarget",
    "CSS": "collectClassNames disable enable getBackgroundColors getComputedStyleForNode getInlineStylesForNode getLayersForNode "
    "getMatchedStylesForNode getMediaQueries getPlatformFontsForNode getStyleSheetText startRuleUsageTracking stopRuleUsageTracking "
    "takeComputedStyleUpdates takeCoverageDelta trackComputedStyleUpdates",
    "CacheStorage": "requestCacheNames requestCachedResponse requestEntries",
    "Cast": "disable enable",
    "Console": "disable enable",
    "DOM": "collectClassNamesFromSubtree describeNode disable discardSearchResults enable getAttributes getBoxModel "
    "getContentQuads getDocument getFlattenedDocument getFrameOwner getNodeForLocation getOuterHTML getSearchResults getTopLayerElements "
    "performSearch pushNodeByPathToFrontend pushNodesByBackendIdsToFrontend querySelector querySelectorAll "
    "requestChildNodes requestNode resolveNode",
    "DOMDebugger": "getEventListeners",
    "DOMSnapshot": "captureSnapshot disable enable getSnapshot",
    "DOMStorage": "disable enable getDOMStorageItems",
    "Debugger": "disable enable getPossibleBreakpoints getScriptSource getStackTrace searchInContent setAsyncCallStackDepth "
    "setBlackboxExecutionContexts setBlackboxPatterns setBlackboxedRanges setSkipAllPauses",
    "DeviceAccess": "disable enable",
    "Emulation": "canEmulate getScreenInfos setEmulatedMedia setFocusEmulationEnabled",
    "FedCm": "disable enable",
    "Fetch": "continueRequest continueResponse continueWithAuth disable failRequest fulfillRequest getResponseBody "
    "takeResponseBodyAsStream",
    "HeapProfiler": "disable enable getHeapObjectId getObjectByHeapObjectId takeHeapSnapshot",
    "IO": "close read resolveBlob",
    "IndexedDB": "disable enable getMetadata requestData requestDatabase requestDatabaseNames",
    "Inspector": "disable enable",
    "LayerTree": "compositingReasons disable enable makeSnapshot profileSnapshot releaseSnapshot snapshotCommandLog",
    "Log": "clear disable enable startViolationsReport stopViolationsReport",
    "Media": "disable enable",
    "Memory": "getAllTimeSamplingProfile getBrowserSamplingProfile getDOMCounters getSamplingProfile",
    "Network": "canClearBrowserCache canClearBrowserCookies canEmulateNetworkConditions disable enable getAllCookies getCertificate "
    "getCookies getRequestPostData getResponseBody getSecurityIsolationStatus searchInResponseBody setAttachDebugStack "
    "streamResourceContent",
    "Overlay": "disable enable hideHighlight",
    "Page": "captureScreenshot captureSnapshot createIsolatedWorld disable enable getAdScriptAncestry getAnnotatedPageContent getAppId "
    "getAppManifest getFrameTree getInstallabilityErrors getLayoutMetrics getManifestIcons getNavigationHistory getOriginTrials "
    "getPermissionsPolicyState getResourceContent getResourceTree printToPDF removeScriptToEvaluateOnNewDocument screencastFrameAck "
    "searchInResource setLifecycleEventsEnabled startScreencast stopScreencast",
    "Performance": "disable enable getMetrics setTimeDomain",
    "PerformanceTimeline": "enable",
    "Preload": "disable enable",
    "Profiler": "disable enable getBestEffortCoverage setSamplingInterval start startPreciseCoverage stop stopPreciseCoverage "
    "takePreciseCoverage",
    "Runtime": "awaitPromise compileScript disable discardConsoleEntries enable getExceptionDetails getHeapUsage getIsolateId "
    "getProperties globalLexicalScopeNames queryObjects releaseObject releaseObjectGroup runIfWaitingForDebugger setAsyncCallStackDepth",
    "Schema": "getDomains",
    "Security": "disable enable",
    "ServiceWorker": "disable enable",
    "Storage": "getCookies getStorageKey getStorageKeyForFrame getTrustTokens getUsageAndQuota",
    "SystemInfo": "getFeatureState getInfo getProcessInfo",
    "Target": "attachToBrowserTarget attachToTarget autoAttachRelated detachFromTarget getBrowserContexts getTargetInfo getTargets "
    "setAutoAttach setDiscoverTargets",
    "Tracing": "end getCategories recordClockSyncMarker start",
    "WebAudio": "disable enable getRealtimeData",
    "WebAuthn": "disable getCredential getCredentials",
}
"""What waits for an answer of a client, such as a request that it holds up, may go on: else the person's pages would stand still."""

LOOKING = frozenset(f"{domain}.{name}" for domain, names in _LOOKING.items() for name in names.split())
_EVALUATING = frozenset({"Runtime.evaluate", "Runtime.callFunctionOn", "Debugger.evaluateOnCallFrame"})


def acts(command: Command) -> bool:
    """Whether a command may change what a person sees or uses."""
    if command.method in LOOKING:
        return False
    params: Any = command.parsed.get("params")
    given = params if isinstance(params, dict) else {}
    if command.method in _EVALUATING:
        return given.get("throwOnSideEffect") is not True
    if command.method == "Page.addScriptToEvaluateOnNewDocument":  # one without a script only names a world: clients do it for each page
        source = given.get("source")
        return not (isinstance(source, str) and all(_does_nothing(line) for line in source.splitlines()))
    return True


def _does_nothing(line: str) -> bool:
    """Whether a line of a script is blank or a comment; `splitlines` ends lines wherever JavaScript does."""
    text = line.strip()
    return not text or text.startswith("//")
