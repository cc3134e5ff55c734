// Of processes that start at once in a project that is not installed yet one installs, and the others wait for it.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

const LOOK_EVERY_MS = 200;
/** Another process may have the number of one that was killed long ago. */
const AT_MOST_MS = 15 * 60_000;

/** Runs `work` while no other process does so under the same `file`, which says whose turn it is. One that was killed has none. */
export function inTurn(file, work) {
  for (let isTold = false; !take(file); isTold = true) {
    if (!isTold) process.stderr.write(`another process installs at this moment, and is waited for (${file})\n`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  }
  try {
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (!hasHolder(file)) putAside(file);
    return false;
  }
}

/** Two may find the same one dead: what the later one puts aside is the turn of the earlier one, and goes back. */
function putAside(file) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return; // somebody else did
  }
  if (hasHolder(aside)) renameSync(aside, file);
  else rmSync(aside, { force: true });
}

function hasHolder(file) {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
    if (Date.now() - statSync(file).mtimeMs > AT_MOST_MS) return false;
    return Number.isNaN(pid) || isAlive(pid); // not a number while it is being written
  } catch {
    return true; // it has gone: the next look takes it
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
