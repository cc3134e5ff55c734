/** How the log looks: to a person as lines to read, to everything else as JSON. */
import type { Config } from '@svc/runtime/config.ts';
import type { PrettyStream } from 'pino-pretty';

const STDERR = 2;

/** Undefined = JSON on stderr, as the log is by itself. The code that makes it readable is loaded by whoever needs it. */
export async function logStream({ SVC_LOG_FORMAT: format }: Config): Promise<PrettyStream | undefined> {
  if (format === 'json' || (format === 'auto' && !process.stderr.isTTY)) return undefined;
  const { PinoPretty } = await import('pino-pretty');
  return PinoPretty({
    destination: STDERR,
    // A line that is written when the process ends must not stay in its memory.
    sync: true,
    colorize: process.stderr.isTTY && (process.env['NO_COLOR'] ?? '') === '',
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname,node,role',
    singleLine: true,
  });
}
