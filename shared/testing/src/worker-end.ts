/** The runner ends its workers by a signal, which tells nobody who waits for the end of the process. */
let isSet = false;

/** From now on whoever waits for `exit` in this process hears of that end too. */
export function endsLikeAnyProcess(): void {
  if (isSet) return;
  isSet = true;
  process.once('SIGTERM', () => {
    process.emit('exit', 0);
    process.kill(process.pid, 'SIGKILL');
  });
}
