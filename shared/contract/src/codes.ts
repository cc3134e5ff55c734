/**
 * Every code a caller can meet, in two tables.
 * A *call error* is answered as JSON-RPC `error` with an HTTP status; a *refusal* is the domain's expected "no",
 * answered inside `result.content` with HTTP 200.
 */
interface CallErrorEntry {
  readonly status: number;
  readonly meaning: string;
  /** What to do about it, in `data.hint`, where the meaning is a fixed text that cannot say more. */
  readonly hint?: string;
}

export const CALL_ERRORS = {
  PARSE_ERROR: { status: 400, meaning: 'The body is not JSON.' },
  INVALID_REQUEST: { status: 400, meaning: 'The request does not have the form of a call.' },
  METHOD_NOT_FOUND: { status: 404, meaning: 'No such JSON-RPC method.' },
  TOOL_NOT_FOUND: { status: 404, meaning: 'No such tool.' },
  VAF_INPUT_INVALID: { status: 400, meaning: 'The arguments do not fit the tool.' },
  VAF_PATH_BLOCKED: {
    status: 400,
    meaning: 'The path is not a legal file name; data names the segment and the character.',
  },
  UNAUTHORIZED: { status: 401, meaning: 'A valid credential is needed.' },
  FORBIDDEN: { status: 403, meaning: 'The caller may not do this.' },
  RLS_DENIED: { status: 403, meaning: 'A row rule denies access.' },
  E_QUARANTINED: {
    status: 403,
    meaning:
      'The caller, or an agent it descends from, is in quarantine and may only read, until an operator or an admin of its home releases it.',
  },
  E_ISLAND_WRITE_DENIED: { status: 403, meaning: 'The island is gated and the caller is anonymous.' },
  NOT_FOUND: { status: 404, meaning: 'No such address.' },
  BRAIN_LOAD_FAIL: {
    status: 404,
    meaning: 'Failed to load brain',
    hint: 'No such brain, or none that the caller may open: brain_list shows those, brain_push with create makes one.',
  },
  AGENT_NOT_FOUND: { status: 404, meaning: 'No such agent.' },
  METHOD_NOT_ALLOWED: { status: 405, meaning: 'The address does not take this verb.' },
  IDEMPOTENCY_KEY_REUSED: { status: 409, meaning: 'The idempotency key was used with other arguments.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The body is larger than 4 MiB.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, meaning: 'The body must be application/json.' },
  RATE_LIMITED: { status: 429, meaning: 'Too many requests; wait until the window resets.' },
  INTERNAL: { status: 500, meaning: 'The service failed. The request id finds the reason in its log.' },
  SERVICE_UNAVAILABLE: { status: 503, meaning: 'No service answers for this tool now.' },
  E_BUSY: { status: 503, meaning: 'Too much is waiting; try again shortly.' },
  TIMEOUT: { status: 504, meaning: 'The deadline passed.' },
  E_OUTCOME_UNKNOWN: {
    status: 504,
    meaning: 'The write may or may not have happened; repeat it with the same idempotency key.',
  },
} as const satisfies Record<string, CallErrorEntry>;

export type CallErrorCode = keyof typeof CALL_ERRORS;

export const REFUSALS = {
  AGENT_NOT_FOUND: 'No such agent.',
  E_ADDRESS_COLLISION: 'Other data lies under that address; nothing was stored.',
  E_ADDRESS_CORRUPT: 'What lies under that address is not what was stored there.',
  E_ACCOUNT_EXISTS: 'The account exists with another limit.',
  E_AMBIGUOUS: 'Several things have that name; use the id.',
  E_AMOUNT: 'More than is held.',
  E_BARCODE_INVALID: 'That is no barcode: its form or its check symbol is wrong.',
  E_BID_ABSENT: 'No such bid, or none that the caller may see.',
  E_BID_CLOSED: 'The bid was accepted or withdrawn, or its time is over.',
  E_BRAIN_DIVERTED:
    'A person has another branch checked out, or a merge in progress, in this working tree; only reads work meanwhile.',
  E_BRANCH_ABSENT: 'No such branch; svc_list_branches shows those there are.',
  E_BRANCH_PROTECTED: 'The branch main is neither deleted nor renamed.',
  E_BRANCH_EXISTS: 'A branch with that name, or one it would collide with, exists.',
  E_BUDGET: 'The budget does not allow it.',
  E_BUSY: 'Too much is waiting; try again shortly.',
  E_CITED: 'The commit is cited with that context.',
  E_CONFIG_KEY: 'No such setting; nearest names some, svc_config_get shows all.',
  E_CONFIG_SECRET: 'A secret is kept in the environment, never here.',
  E_CONFLICT: 'The file is not in the state the caller expected; read it again first.',
  E_CONSENT: 'Without consent nothing is offered, bought or sold.',
  E_CYCLE: 'That would make a circle.',
  E_DIR_NOT_EMPTY: 'The directory holds files; recursive removes them too.',
  E_DUPLICATE: 'That name is taken.',
  E_EMBEDDER_UNAVAILABLE: 'The embedder does not answer as it should; reason says why. Search by words goes on.',
  E_ENTRY_ABSENT: 'No such payment.',
  E_EVOLUTION_ABSENT: 'No session of work goes on; brain_evolution_start begins one.',
  E_EVOLUTION_ACTIVE: 'A session of work goes on; brain_evolution_end ends it.',
  E_FENCED: 'The fence does not belong to a live lease; svc_lock acquires a new one.',
  E_FILE_ABSENT: 'No such file.',
  E_BACKUP_ABSENT: 'There is no such backup.',
  E_BACKUP_CORRUPT: 'The backup is damaged; nothing changed.',
  E_FILE_EXISTS: 'Something has that name already.',
  E_HOLD_ABSENT: 'No such hold.',
  E_HOLD_CLOSED: 'The hold is closed.',
  E_HOLD_EXISTS: 'The caller holds under that id already.',
  E_HOLD_EXPIRED: 'The hold is past its time.',
  E_HOLD_LIMIT: 'Too many live holds.',
  E_INBOX_FULL: 'The inbox of the agent is full.',
  E_ISLAND_ABSENT: 'No such island.',
  E_ISLAND_DISABLED: 'The island is switched off; svc_enable_island switches it on.',
  E_ISLAND_EXISTS: 'An island with that name exists.',
  E_ISLAND_INVALID: 'The file of the island does not parse: its front matter, or its JSON.',
  E_LAST_ADMIN: 'The workspace would be left without an admin.',
  E_LEASE_ABSENT: 'There is no live lease.',
  E_LEASE_TOKEN: 'The token does not belong to the live lease.',
  E_LEDGER_FROZEN: 'The account is frozen until an operator has repaired it.',
  E_LINEAGE_ABSENT: 'No such event in the lineage of the workspace.',
  E_LINEAGE_CYCLE: 'Something would descend from itself.',
  E_LINEAGE_PARENT: 'No such parent in the lineage of the workspace.',
  E_LIMIT: 'A limit of the service is reached.',
  E_LIMIT_BELOW_COMMITTED: 'More than that is spent or reserved already.',
  E_LISTING_ABSENT: 'No such listing, or none that the caller may see.',
  E_LOCKED: 'Another holder has the lease until it releases it, or expiresAt.',
  E_MEMBER_LIMIT: "The member's limit does not allow it.",
  E_NOT_BUYER: 'Only the buyer may do this.',
  E_NOT_CONFIGURED: 'The operator has not set what this needs; settings names it.',
  E_NOT_FOUND: 'No such thing, or none that the caller may see.',
  E_NOT_RELATED: 'The two share no workspace.',
  E_NOT_SELLER: 'Only the seller may do this.',
  E_NOT_SKILL: 'The listing offers no skill.',
  E_NOT_TEXT: 'The file is not UTF-8 text.',
  E_NO_AGENT: 'Nobody is named as whom the call acts.',
  E_PARENT_REQUIRED: 'Several parents are possible; name one.',
  E_POOL_EXCEEDED: 'The pool of the workspace does not allow it.',
  E_PROTO_ABSENT: 'No such prototype.',
  E_QUARANTINED: 'The entity is in quarantine.',
  E_QUOTA: 'The quota is used up.',
  E_RATE_LIMIT: 'Too many of these in a short time.',
  E_READ_ONLY: 'The brain is read-only in this session; brain_push with type private puts it there writable.',
  E_REFUNDED: 'More than was paid.',
  E_REF_ABSENT: 'No such commit, branch or rescue reference.',
  E_REF_AMBIGUOUS: 'Several commits begin like that; name more of it.',
  E_REF_REUSED: 'The reference was used for something else.',
  E_REMOTE_ABSENT: 'The remote has no such repository, or does not show it to this credential.',
  E_REMOTE_AUTH: 'The remote refuses the credential.',
  E_REMOTE_CORRUPT: 'The remote sent damaged or dangerous data.',
  E_REMOTE_FULL: 'The remote has no room for it.',
  E_REMOTE_RACE: 'The remote kept moving; try again.',
  E_REMOTE_REJECTED: 'The remote refuses the push.',
  E_REMOTE_TLS: 'The remote cannot prove who it is: certificate or host key.',
  E_REMOTE_UNREACHABLE: 'The remote cannot be reached.',
  E_RUNAWAY: 'Too many draws within a minute.',
  E_SCOPE: 'The scope is no workspace in which the caller has a role.',
  E_SELF_TRADE: 'Nobody trades with themselves, their parent or their children.',
  E_SELF_TRUST: 'Nobody rates themselves, their parent or their children.',
  E_SELLER_TRUST: 'The seller is trusted too little to sell.',
  E_SKILL_ALREADY_DELIVERED: 'The skill was delivered before.',
  E_SKILL_ALREADY_SETTLED: 'The trade was settled before.',
  E_SKILL_CANCELLED: 'The trade was cancelled.',
  E_SKILL_DELIVERED: 'The skill is delivered; now the buyer confirms or refutes it.',
  E_SKILL_DISABLED: 'Skills are not traded on this node; an operator turns that on with market_skill_gate.',
  E_SKILL_EXPIRED: 'The time of the trade is over.',
  E_SKILL_LAUNCH: 'What is made to start something is not traded.',
  E_SKILL_NOT_BUYER: 'Only the buyer settles.',
  E_SKILL_NOT_DELIVERED: 'There is nothing to settle before the delivery.',
  E_SKILL_NOT_SELLER: 'Only the seller delivers.',
  E_SKILL_PAYLOAD: 'The payload is larger than 64 KiB.',
  E_SOLD_OUT: 'Everything of the listing is taken.',
  E_STACK_EMPTY: 'The last brain of the stack stays; brain_switch replaces it.',
  E_STATE_WRITE: 'The disk refused the write; nothing changed.',
  E_SUDO_SCOPE: 'No such scope.',
  E_SUDO_TASK_ABSENT: 'No such task.',
  E_SUDO_TASK_EXISTS: 'The task id belongs to somebody else.',
  E_IMAGE_INVALID: 'The image is no PNG that can be used.',
  E_IMAGE_LIMIT: 'The image is too large.',
  E_STEGO_CAPACITY: 'The message does not fit into the image.',
  E_STEGO_CORRUPT: 'The message in the image is damaged.',
  E_STEGO_NONE: 'The image holds no message.',
  E_STEGO_PASSWORD: 'The message in the image needs its password.',
  E_SYNC_FAILED: 'Nothing could be synced; results name the reason of each part.',
  E_SYNC_CONFLICT: 'Both sides changed the same place.',
  E_TMP_ABSENT: 'No such temporary file, or its time is over.',
  E_TRADE_ABSENT: 'No such trade, or none of the caller.',
  E_TRADE_CLOSED: 'The trade is closed.',
  E_UNDER_WAY: 'It takes longer than this call could wait and goes on; repeat the call to learn how it ends.',
  E_UNKNOWN_WORKSPACE: 'No such workspace, or none in which the caller has a role.',
  HABITAT_UNKNOWN_WORKSPACE: 'No such workspace.',
  HABITAT_WORKSPACE_EXISTS: 'A workspace with that name exists.',
  NOT_APPLICABLE: 'This has no meaning over the wire.',
} as const satisfies Record<string, string>;

export type RefusalCode = keyof typeof REFUSALS;

export type ErrorDetails = Record<string, unknown>;

/** A call error on its way to the edge; `status` overrides the table where a code has two (BRAIN_LOAD_FAIL). */
export class CallError extends Error {
  readonly code: CallErrorCode;
  readonly status: number;
  readonly details: ErrorDetails;

  constructor(code: CallErrorCode, message?: string, details: ErrorDetails = {}, status?: number) {
    super(message ?? CALL_ERRORS[code].meaning);
    this.code = code;
    this.details = details;
    this.status = status ?? CALL_ERRORS[code].status;
  }
}

/** The domain's expected "no" on its way to the edge. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly details: ErrorDetails;

  constructor(code: RefusalCode, details: ErrorDetails = {}, message?: string) {
    super(message ?? REFUSALS[code]);
    this.code = code;
    this.details = details;
  }
}
