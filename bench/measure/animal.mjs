// The animals of every target: names of several lengths and scripts. One in 50 is pending, one in 5 is sold.
const names = [
  'Bo', 'Mittens', 'Żubr', '小花', 'Captain Barkington', 'Σωκράτης', 'Пушок', '🦜 Kiwi', 'Señor Bigotes', 'はなこ', 'Rex',
  'Dr. Hoppelmann', 'نجمة', 'Robert "Bobby" O\'Malley', 'बाघा', 'Daisy',
  'Prince Maximilian of Hohenfels and Lower Rhine, the Third',
];

/** The animal with this id. */
export function animal(id) {
  const status = id % 50 === 0 ? 'pending' : id % 5 === 1 ? 'sold' : 'available';
  return { name: names[id % names.length], categoryId: 1 + (id % 10), status };
}
