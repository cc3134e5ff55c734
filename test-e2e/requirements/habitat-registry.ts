/** Workspaces, roles, boundaries, tokens. `acceptance n` = the n-th example of the registry's contract. */
export const HABITAT = {
  'habitat:policies:default': [
    'habitat acceptance 1',
    'Without a policy anonymous may read, because public, and may not write, because nothing matches.',
  ],
  'habitat:policies:container': [
    'habitat acceptance 2',
    'The container is judged first, an empty list admits everybody inside it, a public container every workspace.',
  ],
  'habitat:policies:rules': [
    'habitat acceptance 3',
    'The first rule of the list that matches is the reason; a rule is split at its first colon.',
  ],
  'habitat:policies:unknown-workspace': [
    'habitat acceptance 4',
    'A declared context in a workspace that does not exist is admitted by public alone.',
  ],
  'habitat:policies:transforms': [
    'habitat acceptance 5',
    'Filter and mask act on data, in that order, not on text; who is denied gets no data; an unknown transform is refused.',
  ],
  'habitat:tokens:one-workspace': [
    'habitat acceptance 6',
    'A token acts by its roles of one workspace: home, or another one it names and belongs to; it may narrow its roles.',
  ],
  'habitat:tokens:follow-roles': [
    'habitat acceptance 7',
    'A grant and a removal show in the very next verification by another replica; after the last role it is dead for good.',
  ],
  'habitat:tokens:revoked': [
    'habitat acceptance 8',
    'Revoked through one gateway a token is dead at the other and after a cold start of everything; a second time says false.',
  ],
  'habitat:tokens:stored-hash': [
    'habitat acceptance 9',
    'No table, log or event holds a raw token; the table of tokens holds its SHA-256 once.',
  ],
  'habitat:roles:self-promotion': [
    'habitat acceptance 10',
    'Nobody makes themselves admin: UNAUTHORIZED or FORBIDDEN, nothing changed, an audit entry each.',
  ],
  'habitat:tokens:admin-mint': [
    'habitat acceptance 11',
    'An admin mints for agents at home with it alone, bound to the workspace, never for users or guests.',
  ],
  'habitat:policies:home': [
    'homes of brains, files and islands',
    'An admin protects what its workspace made and gives it free again; nobody else does, an admin of the default workspace neither, nor by removing it and making it again.',
  ],
  'habitat:policies:declared': [
    'boundary of a workspace',
    'What a workspace with a boundary makes is seen and heard by whom that admits, until the thing has one of its own.',
  ],
  'habitat:policies:take-over': [
    'habitat acceptance 12',
    'An admin moves no resource of another workspace into its own, and a stranger does not get a workspace by making it again.',
  ],
  'habitat:tokens:verify-anything': [
    'habitat acceptance 13',
    'Verifying an empty text, a number, null, a cut token or an application token says valid false, byte for byte the same.',
  ],
  'habitat:workspaces:race': [
    'habitat acceptance 14',
    'Of 50 identities that make one workspace through two gateways one owns it and is its only admin, 49 are refused.',
  ],
  'habitat:restart': [
    'habitat acceptance 15',
    'After a restart policies, roles and tokens are as before, and every current workspace is default again.',
  ],
  'habitat:tokens:ttl': [
    'habitat acceptance 16',
    'The life of a token is a whole number of ms up to 30 days, and it ends to the millisecond.',
  ],
  'auth:permissions': ['auth acceptance 1', 'A token with role editor permits write and not delete.'],
  'auth:unknown': ['auth acceptance 2', 'An unknown application token is invalid_or_expired and invalid_token.'],
  'auth:no-credential': ['auth acceptance 3', 'An application token opens no door.'],
  'auth:own-roles': ['auth acceptance 4', 'Nobody gives itself a role in an application token that it does not hold.'],
  'auth:restart': ['auth acceptance 5', 'An application token outlives a restart, until its time is up.'],
  'auth:no-secret': [
    'auth acceptance 6',
    'No reply, log or row holds an application token after its making, nor any key that could sign one.',
  ],
} as const;
