//! temp
use swerl_data::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = std::time::Instant::now();
    let r = if a[1] == "events" {
        curate_events(&a[2], &RepositoryFolder::new(&a[3]), &CurateOptions::default(), &NoProgress)
    } else {
        curate_repository(
            &a[2],
            &RepositoryOptions::default(),
            &CurateOptions::default(),
            &NoProgress,
        )
    };
    match r {
        Ok((s, r)) => {
            println!("{r}");
            println!("{:?}", t.elapsed());
            write_seeds(a.last().unwrap(), &s).unwrap();
            println!("{:?}", t.elapsed());
        }
        Err(e) => {
            let mut e: &dyn std::error::Error = &e;
            loop {
                print!("{e}: ");
                match e.source() {
                    Some(s) => e = s,
                    None => break,
                }
            }
            println!();
        }
    }
}
