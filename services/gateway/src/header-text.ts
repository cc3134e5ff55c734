import type { IncomingHttpHeaders } from 'node:http';

/** A request header as one text, also when it was sent several times. */
export function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}
