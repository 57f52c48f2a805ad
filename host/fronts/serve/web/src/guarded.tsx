// A part of the page that may fail without the rest: what it shows comes from models and tools.

import { Component, type ComponentChildren } from "preact";

interface Props {
  children: ComponentChildren;
  /// Shown in the place of what failed.
  instead?: ComponentChildren;
}

export class Guarded extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  override componentDidCatch(error: unknown): void {
    console.warn(error);
    this.setState({ failed: true });
  }

  override render() {
    const { children, instead } = this.props;
    if (!this.state.failed) return <>{children}</>;
    return <>{instead ?? <p class="warning">This cannot be shown. The session's export has it.</p>}</>;
  }
}
