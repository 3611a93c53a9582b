/** The button that switches between the light and the dark theme. Until it is used, the browser decides. */
import { byId } from './dom.ts';

const { dataset } = document.documentElement;

/** Returns the storage of the origin, or null if the browser does not allow access to it. */
function storage(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/** Applies the theme that was chosen in an earlier visit, and lets the button change it. */
export function initTheme(): void {
  const chosen = storage()?.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') dataset['theme'] = chosen;
  byId('theme', HTMLButtonElement).addEventListener('click', () => {
    const current = dataset['theme'] ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
    dataset['theme'] = current === 'dark' ? 'light' : 'dark';
    storage()?.setItem('theme', dataset['theme']);
  });
}
