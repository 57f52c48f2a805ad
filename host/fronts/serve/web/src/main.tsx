import "./shown";
import { render } from "preact";
import { takeToken } from "./api";
import { App } from "./app";
import { applyTheme } from "./theme";

takeToken();
applyTheme();
render(<App />, document.body);
