"""When the service goes away, the page says so; when it is back, the page goes on."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.running_service import Service

from gapgram import Model


def test_the_page_says_that_the_service_is_away_and_recovers(browser: Any, models: dict[str, Model]) -> None:
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    path = models["mkn"].path
    assert path is not None
    service = Service([path])
    page = browser.new_page()
    page.goto(service.url)
    page.wait_for_selector(".guess")
    service.stop()
    page.fill("#type-text", "w1 w2 ")
    page.wait_for_selector("#away:visible")
    assert page.inner_text("#away").startswith("The service does not answer.")
    assert page.get_attribute("#away", "role") == "alert"
    service.start()
    page.wait_for_selector("#away", state="hidden")
    assert page.input_value("#type-text") == "w1 w2 "
    page.wait_for_selector(".guess")
    service.stop()
    page.close()
