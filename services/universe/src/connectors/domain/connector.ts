/** How what is outside stands, as far as is known. */
export type ConnectorState = 'up' | 'down' | 'unknown' | 'off';

/** `contact`: how the last attempt ended; undefined = there was none. */
export function stateOf(isConfigured: boolean, contact: { readonly error: string | null } | undefined): ConnectorState {
  if (!isConfigured) return 'off';
  if (contact === undefined) return 'unknown';
  return contact.error === null ? 'up' : 'down';
}
