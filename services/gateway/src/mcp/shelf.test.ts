import { shelfContract } from '../../testing/shelf.contract.ts';

shelfContract('memory', ({ memory }) => memory());
