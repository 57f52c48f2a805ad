use super::*;
use pretty_assertions::assert_eq;
use std::task::Waker;

const MOST: Most = Most {
    places: 8,
    waiting: 8,
};

/// Polls once.
fn ready_now(turn: &mut Turn) -> Option<Place> {
    match Pin::new(turn).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(place) => Some(place),
        Poll::Pending => None,
    }
}

/// Free places, and all who wait.
fn counts(turns: &Turns) -> (usize, usize) {
    let book = turns.book();
    (book.free, book.waiting)
}

#[test]
fn a_place_that_falls_free_goes_to_the_parties_in_turn_and_to_the_first_of_each() {
    let turns = Turns::new(1, 0, 100);
    let (a, b, c) = (turns.party(MOST), turns.party(MOST), turns.party(MOST));
    let mut place = a.try_take();
    let mut waiting: Vec<(&str, Turn)> = [
        ("a1", &a),
        ("a2", &a),
        ("a3", &a),
        ("b1", &b),
        ("c1", &c),
        ("b2", &b),
    ]
    .map(|(name, party)| (name, party.turn().unwrap()))
    .into();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        assert!(
            waiting
                .iter_mut()
                .all(|(_, turn)| ready_now(turn).is_none())
        );
        drop(place.take());
        let mut ready: Vec<(usize, Place)> = waiting
            .iter_mut()
            .enumerate()
            .filter_map(|(index, (_, turn))| Some((index, ready_now(turn)?)))
            .collect();
        let (index, next) = ready.pop().unwrap();
        assert!(ready.is_empty(), "one place, and more than one got it");
        order.push(waiting.remove(index).0);
        place = Some(next);
    }
    assert_eq!(order, ["b1", "c1", "a1", "b2", "a2", "a3"]);
    drop(place);
    assert_eq!(counts(&turns), (1, 0));
}

#[test]
fn a_party_has_no_more_than_its_share_and_leaves_the_rest_to_others() {
    let turns = Turns::new(4, 0, 3);
    let greedy = turns.party(Most {
        places: 3,
        waiting: 2,
    });
    let other = turns.party(MOST);
    let mut places: Vec<Place> = std::iter::from_fn(|| greedy.try_take()).collect();
    assert_eq!((places.len(), greedy.has_its_share()), (3, true));

    let mut first = greedy.turn().unwrap();
    let second = greedy.turn().unwrap();
    assert_eq!(greedy.turn().map(drop), Err(Full::Party));
    // A place is free, and not for this one.
    assert!(ready_now(&mut first).is_none());
    assert_eq!(counts(&turns), (1, 2));

    let others = other.try_take();
    assert!(others.is_some() && other.try_take().is_none());
    let third = other.turn().unwrap();
    assert_eq!(other.turn().map(drop), Err(Full::All));

    // What either gives back goes to the one whose turn it is, within its share.
    let mut third = third;
    drop(places.pop());
    let firsts = ready_now(&mut first);
    assert!(firsts.is_some() && ready_now(&mut third).is_none());
    drop(others);
    assert!(ready_now(&mut third).is_some());
    assert_eq!(counts(&turns), (1, 1));
    drop((firsts, places, second));
    assert_eq!(counts(&turns), (4, 0));
}

#[test]
fn the_last_places_are_for_parties_that_have_none() {
    let turns = Turns::new(8, 3, 100);
    let greedy: Vec<Arc<Party>> = (0..2).map(|_| turns.party(MOST)).collect();
    let mut places: Vec<Place> = std::iter::from_fn(|| greedy[0].try_take()).collect();
    assert_eq!((places.len(), counts(&turns)), (5, (3, 0)));
    // One that has none has one of them, and no second one.
    let seconds = greedy[1].try_take();
    assert!(seconds.is_some() && greedy[1].try_take().is_none());
    let mut wait: Vec<Turn> = greedy.iter().map(|party| party.turn().unwrap()).collect();
    assert!(wait.iter_mut().all(|turn| ready_now(turn).is_none()));
    assert_eq!((greedy[0].left_to_others(), counts(&turns)), (2, (2, 2)));

    // Whoever comes does not wait behind them, and leaves what it had to the next of its kind.
    for _ in 0..10 {
        let other = turns.party(MOST);
        assert!(other.try_take().is_some());
        assert!(wait.iter_mut().all(|turn| ready_now(turn).is_none()));
    }
    // What the greedy give back they get again, in turn, as soon as more than the last places are free.
    drop(places.pop());
    assert_eq!(counts(&turns), (3, 2));
    drop(places.pop());
    let got: Vec<Option<Place>> = wait.iter_mut().map(ready_now).collect();
    let has: Vec<bool> = got.iter().map(Option::is_some).collect();
    assert_eq!((has, counts(&turns)), (vec![true, false], (3, 1)));
}

#[test]
fn whoever_goes_leaves_nothing_behind() {
    let turns = Turns::new(1, 0, 8);
    let party = turns.party(MOST);
    let never_polled = party.turn().unwrap();
    let waits = party.turn().unwrap();
    let second = party.turn().unwrap();
    assert_eq!(counts(&turns), (0, 2));
    // One that has its place and did not take it over, one that waits, and one whose place has come unseen.
    drop(waits);
    assert_eq!(counts(&turns), (0, 1));
    drop(never_polled);
    assert_eq!(counts(&turns), (0, 0));
    drop(second);
    assert_eq!(counts(&turns), (1, 0));

    let place = party.try_take();
    let mut last = party.turn().unwrap();
    drop(party);
    drop(place);
    let place = ready_now(&mut last);
    assert!(place.is_some());
    drop((place, last));
    assert_eq!((counts(&turns), turns.book().parties.len()), ((1, 0), 0));
}
