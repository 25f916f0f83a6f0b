// A component of a page from a class: one player for each place it is put into, given the data anew whenever they come.
function mounted(Player) {
  const players = new WeakMap();
  return ({ parentElement, data, setTriggerValue }) => {
    let player = players.get(parentElement);
    if (!player) {
      player = new Player(parentElement);
      players.set(parentElement, player);
    }
    player.setTriggerValue = setTriggerValue;
    player.receive(data);
    return () => {
      player.leave();
      players.delete(parentElement);
    };
  };
}
