/** Structured logs without secrets. */
import { pino, type DestinationStream, type Logger } from 'pino';
import { createLineWriter } from './line-writer.ts';

/** Paths of everything that could carry a credential, wherever it stands in a logged object. */
const SECRET_FIELDS = ['authorization', 'x-api-key', 'x-habitat-token', 'apiKey', 'token', 'password', 'secret'];
const REDACTED = SECRET_FIELDS.flatMap((field) => {
  const key = field.includes('-') ? `["${field}"]` : field;
  const below = field.includes('-') ? `*${key}` : `*.${key}`;
  return [key, below, `*.${below}`];
});

const STDERR = 2;

export function createLog(level: string, base: Record<string, unknown>, destination?: DestinationStream): Logger {
  return pino(
    { level, base, redact: { paths: REDACTED, censor: '[redacted]' } },
    destination ?? createLineWriter(STDERR, Date.now),
  );
}
