/** Tokens at the doors and on the event channel. */
export const TOKENS = {
  'tokens:beside-key': [
    'gateway acceptance 5',
    "With the API key and a viewer's token an admin's tool is FORBIDDEN; with the key alone it succeeds.",
  ],
  'tokens:invalid': [
    'gateway acceptance 6',
    'An expired, revoked, cut or unknown token is 401 on every door and never anonymous; verifying it says valid false.',
  ],
  'tokens:declared-context': [
    'gateway acceptance 7',
    'A token of acme that declares another workspace and a stronger role acts in acme, verified, and is not let in.',
  ],
  'tokens:sessions': [
    'gateway acceptance 8',
    'Two principals with one session name share nothing: the current workspace of one is not that of the other.',
  ],
  'tokens:profile': [
    'gateway acceptance 13',
    'A token held to a profile calls, lists, finds and describes no tool beyond it, inside svc_call as well.',
  ],
  'tokens:read-only': [
    'gateway credentials',
    'A token that may only read is FORBIDDEN to write, inside svc_call as well.',
  ],
  'tokens:revoked-at-once': [
    'habitat acceptance 8',
    'A token revoked through one gateway is refused by the very next request to another, every time.',
  ],
  'tokens:roles-at-once': [
    'habitat acceptance 7',
    'A role granted or removed through one gateway holds for the very next request to another.',
  ],
  'tokens:plan': ['gateway limits', "A token pays with its organisation's plan and window from the next request on."],
  'tokens:secret': ['gateway credentials', 'No raw token is in any log line or event.'],
  'tokens:denials': [
    'gateway operation',
    'Denied calls are in the audit of the workspace: the first at once, equal ones of a minute as one entry with their number, none lost when the gateway ends.',
  ],
  'tokens:sockets-of-tenants': [
    'gateway acceptance 14',
    'Of a change in acme only its own socket hears; of a denied island the admin of acme hears, its viewer does not.',
  ],
  'tokens:sockets-end': [
    'gateway acceptance 15',
    'When its token is revoked, a socket is told UNAUTHORIZED and disconnected on every gateway within two seconds.',
  ],
} as const;
