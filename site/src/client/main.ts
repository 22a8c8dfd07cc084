/* main.ts -- the entry in the browser. */
import '../style/tokens.css';
import '../style/page.css';
import '../style/concept.css';
import '../style/case.css';
import '../style/code.css';
import '../style/controls.css';
import '../style/figure.css';
import '../style/ledger.css';
import '../style/lab.css';
import '../style/print.css';
import { startIslands } from './islands';
import { startMenu } from './menu';
import { startOffline } from './offline';
import { startRail } from './rail';
import { startThemeButton } from './theme-button';

startThemeButton();
startMenu();
startRail();
startOffline();
void startIslands();
