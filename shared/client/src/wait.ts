/** A longer time is none for a timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** At most 24 days. Throws the reason of the signal as soon as it is given. */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  let wake = (): void => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const timer = setTimeout(wake, Math.min(ms, LONGEST_MS));
  signal?.addEventListener('abort', wake, { once: true });
  await woken;
  clearTimeout(timer);
  signal?.removeEventListener('abort', wake);
  signal?.throwIfAborted();
}
