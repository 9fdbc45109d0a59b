"""The charts' own script, to stand in a page that loads nothing."""

from bokeh.resources import Resources


def bokeh_script() -> str:
    """BokehJS without widgets, tables and WebGL, ready to stand in a script element."""
    resources = Resources(mode="inline", components=["bokeh"], minified=True)
    return "\n".join(resources.js_raw).replace("</script", "<\\/script")
