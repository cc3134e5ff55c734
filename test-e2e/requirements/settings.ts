/** Settings that change while the service runs. */
export const SETTINGS = {
  'settings:next-call': [
    'config port',
    'What an operator sets through one gateway holds at every process from the next call on, whatever the process is.',
  ],
  'settings:types': [
    'config port; resolution acceptance 3',
    'Texts of switches and numbers are understood; what does not fit is VAF_INPUT_INVALID, a name of the node that nobody declared E_CONFIG_KEY.',
  ],
  'settings:secrets': [
    'config port; resolution acceptance 4',
    'A secret is refused with E_CONFIG_SECRET, and its value is nowhere.',
  ],
  'settings:operators': [
    'config port',
    'Only operators set: an admin is FORBIDDEN. Whoever is somebody reads, and to nobody no setting is shown.',
  ],
  'settings:told': [
    'config port',
    'Each change is told to operators without its value and kept in the audit with what was before.',
  ],
  'settings:keyed': ['config port', 'A repeat under one idempotency key is the stored reply, on any gateway.'],
  'settings:environment': [
    'config port',
    'A variable of the environment fixes a value: another one is kept, is not in effect, and the answer says so.',
  ],
  'settings:require-key': [
    'config port',
    'mcp.requireKey opens and closes the door /mcp/exec of every gateway from the next request on; /call stays closed.',
  ],
  'settings:profiles': [
    'config port',
    'A profile that is set is there at every gateway from the next request on, for lists and for tokens held to it.',
  ],
  'settings:money': [
    'config port',
    'escrow.defaultBudget and escrow.runawayPerMinute hold at every ledger from the next call on, through any gateway.',
  ],
  'settings:log': ['config port', 'Served calls are logged while gateway.logCalls is on, each with its request id.'],
  'settings:brain': [
    'resolution, config, citations',
    'A key of a brain stands in its config.json, whoever wrote it, and is told without its value; a key of the node there counts for nothing.',
  ],
  'settings:brain-told': [
    'resolution, config, citations',
    'Of a change of a key of a brain hears who may read that brain, and nobody else.',
  ],
  'settings:pulled': [
    'resolution acceptance 2',
    'A config.json that comes from a remote arms nothing of the node: the value stays, what it would open stays shut, and an editor is FORBIDDEN to set it.',
  ],
  'settings:restart': ['config port', 'What is set is there after every process was ended.'],
} as const;
