/** What holds when a person with an editor and git works in a brain beside agents. */
export const PEOPLE = {
  'people:model': [
    'people and agents',
    'Whatever a person and agents do at once, kills included: no byte is lost, no entry invisible, no branch wedged.',
  ],
  'people:commit-loops': [
    'people and agents',
    'A person and an agent who both only add and commit, at once, never drop a file of the other from the tip.',
  ],
  'people:two-edits': [
    'people and agents',
    'A file edited, read, edited again and read within 40 ms is told once with what it holds, and writes, deletes and commits go on.',
  ],
  'people:vault': [
    'people and agents',
    'Every entry of a vault dropped into a brain is listed with its kind; a commit takes what it must; a clone equals it.',
  ],
  'people:vault-edits': ['people and agents', 'An edit of each kind of entry in a vault is told as an event.'],
  'people:quiet-opening': [
    'people and agents',
    'Opening a branch whose files are those of its commit gives no change events.',
  ],
} as const;
