/** What row rules and hidden fields promise on every door of the brain. */
export const BRAIN_ROWS = {
  'rows:search-subset': [
    'search acceptance 2',
    'Who may read four of ten files gets the answers of a brain that holds only those: results, scores, totals.',
  ],
  'rows:masked-field': [
    'search acceptance 3',
    'A masked field is shown masked, found by no search, and kept when the shown text is written back.',
  ],
  'rows:hidden-never': [
    'brain rows',
    'Reads and searches through every door show a hidden value in no answer, event, log line or metric.',
  ],
  'rows:poison': [
    'brain rows',
    'Files that are deep, wide, broken or ambiguous, by tool, editor and pull, break no answer and show nothing hidden in answers, events, logs, metrics or hashes.',
  ],
  'rows:one-grammar': [
    'brain rows',
    'Whatever blanks stand beside its fences, a front matter is one to the masks, to search and to islands alike, or to none of them.',
  ],
  'rows:nasty-texts': [
    'brain rows',
    'While texts that are as long and as nasty as may be are written, masked, merged and ranked, small calls of others on the same brain are answered soon.',
  ],
  'rows:absent': [
    'brain rows',
    'A file that may not be read answers like one that is not there, byte for byte; so does a brain.',
  ],
  'rows:write-denied': [
    'brain rows',
    'A write that a rule denies is RLS_DENIED whether or not the file is there, and changes nothing.',
  ],
  'rows:next-request': ['brain rows', 'A changed policy holds from the next request on, through every gateway.'],
} as const;
