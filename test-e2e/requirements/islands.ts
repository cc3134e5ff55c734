/** What islands promise. */
export const ISLANDS = {
  'islands:create': [
    'islands acceptance 1',
    'A new island is Markdown with normal triggers; a restart lists it, and a branch without its file does not.',
  ],
  'islands:gated-read': [
    'islands acceptance 2',
    'Who the boundary shuts out is RLS_DENIED on load, told once, and sees nothing of the file on any other door.',
  ],
  'islands:anonymous-write': [
    'islands acceptance 3',
    'A write to a gated island by nobody in particular is E_ISLAND_WRITE_DENIED, operator or not, and changes nothing.',
  ],
  'islands:can-access': [
    'islands acceptance 4',
    'islands_canAccess judges a token as what it is, whatever userCtx claims, and says as whom.',
  ],
  'islands:disabled': [
    'islands acceptance 5',
    'An island that is switched off does not load and is not found by its triggers; it stays listed and readable.',
  ],
  'islands:bulk': ['islands acceptance 6', 'Islands made together are made all or none, also through kill -9.'],
  'islands:switching': [
    'islands acceptance 7',
    '50 enable and 50 disable calls at once tell their changes truthfully, and the file parses.',
  ],
  'islands:triggers': [
    'islands',
    'A trigger is found as whole words of a text; new triggers keep the rest of the file.',
  ],
  'islands:sources': ['islands', 'The readable files of its sources follow the text, up to 64 KiB.'],
  'islands:data': ['islands', 'filter and mask act on the data of a data island, on every door, and never on text.'],
  'islands:user-ctx': ['islands', 'A declared userCtx is believed from an operator alone, also inside options.'],
  'islands:events': ['islands', 'Making, amending and removing an island is told, as the island and as its file.'],
  'islands:idempotency': ['islands', 'A repeated keyed call answers as the first did and changes nothing.'],
  'islands:invalid': ['islands', 'A file that does not parse is listed as invalid and loads as E_ISLAND_INVALID.'],
  'islands:stack': ['islands', 'The topmost brain of the stack wins a name.'],
  'islands:cas': ['islands', 'Of several who give triggers under one hash, one wins.'],
} as const;
