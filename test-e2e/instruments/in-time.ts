/** Work that has to be done before a deadline which it names itself. */

/** No deadline may be nearer. */
const NEAREST_MS = 1000;
const FIRST_MS = 2500;

/** What `work` answers before the deadline that it is given (ms since the epoch), however slow the machine is. */
export async function inTime<Value>(work: (deadline: number) => Promise<Value>): Promise<Value> {
  for (let leftMs = FIRST_MS; ; leftMs *= 2) {
    const deadline = Date.now() + leftMs;
    try {
      return await work(deadline);
    } catch (error) {
      if (Date.now() < deadline - NEAREST_MS) throw error;
    }
  }
}
