"""A headless Chromium, driven as a person would: Debian's chromium, chromium-driver and python3-selenium."""

import os
import shutil
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    webdriver = None

# How long anything may take on a busy machine, in seconds.
PATIENCE = 180


def missing():
    """Why there is no browser; empty where there is one."""
    if webdriver is None:
        return "python3-selenium is not installed"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return ""


def start(traced=""):
    """`traced`: categories of Chromium's tracing, with commas, whose events then are in the log "performance"."""
    options = webdriver.ChromeOptions()
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # Chromium's own does not work for root
    for argument in arguments:
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if traced:
        options.add_experimental_option("perfLoggingPrefs", {"traceCategories": traced})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_script_timeout(PATIENCE)
    return driver


def show(driver, page, width=1440, height=900, scheme="light"):
    """Opens a page as a device of that size has it; returns when its scripts are through."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.get_log("browser"), driver.get_log("performance")  # of the page before
    # On a busy machine get() may return while the page before is still there.
    driver.execute_script("document.documentElement.dataset.left = 'yes'")
    driver.get(Path(page).resolve().as_uri())
    WebDriverWait(driver, PATIENCE).until(lambda _: driver.execute_script(
        "return document.readyState === 'complete' && !document.documentElement.dataset.left"))


def double_click(driver, element):
    """In its middle. ActionChains.double_click() makes two clicks of it where the machine is so busy that the second
    comes late; this says which click each one is."""
    box = driver.execute_script("return arguments[0].getBoundingClientRect().toJSON()", element)
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", **at})
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "button": "left", "clickCount": count, **at})
