// The way back to the list of sessions, where it is not beside what is open: on a phone.

export function Back() {
  return (
    <a href="#/" class="back" aria-label="Back to the sessions">
      ←
    </a>
  );
}
